/** Templates of webhooks, compiled once for all events of all handlers that have the same; files are read when a configuration or a reload comes. */
import { compileTemplate, type Template } from '../../domain/template/compile.ts';
import { isTemplateText, namesRequest } from '../../domain/webhook-template.ts';
import { readTemplateFile } from './template-file.ts';

/** Which part of it is there says whether it is one. */
export type BodyTemplate = {
  /** Whether the request itself is among its data. */
  readonly needsRequest: boolean;
} & ({ readonly template: Template; readonly fault?: undefined } | { readonly fault: string });

export type BodyTemplatesOptions = {
  /** `gateway.templates_path`. */
  readonly folder?: string | undefined;
  /** Where nothing says that it is time: a file is read each time that it is asked for. */
  readonly readsAnew?: boolean;
};

export class BodyTemplates {
  readonly #options: BodyTemplatesOptions;
  /** By what handlers say: a template, or the name of a file. */
  #known = new Map<string, BodyTemplate>();

  constructor(options: BodyTemplatesOptions = {}) {
    this.#options = options;
  }

  of(bodyTemplate: string): BodyTemplate {
    const isKept = isTemplateText(bodyTemplate) || !this.#options.readsAnew;
    const known = isKept ? this.#known.get(bodyTemplate) : undefined;
    if (known) return known;
    const template = this.#make(bodyTemplate);
    if (isKept) this.#known.set(bodyTemplate, template);
    return template;
  }

  /** What handlers say now: the rest is forgotten, and files are read again. Answers what is wrong, by what says it. */
  take(all: Iterable<string>): ReadonlyMap<string, string> {
    const before = this.#known;
    this.#known = new Map();
    const faults = new Map<string, string>();
    for (const one of all) {
      if (one === '' || this.#known.has(one)) continue;
      const known = isTemplateText(one) ? before.get(one) : undefined;
      if (known) this.#known.set(one, known);
      const { fault } = this.of(one);
      if (fault !== undefined) faults.set(one, fault);
    }
    return faults;
  }

  /** A reload: files may be others by now. */
  lookAgain(): ReadonlyMap<string, string> {
    return this.take([...this.#known.keys()]);
  }

  #make(bodyTemplate: string): BodyTemplate {
    if (isTemplateText(bodyTemplate)) return made(bodyTemplate);
    const { folder } = this.#options;
    const file = folder === undefined ? noFolder : readTemplateFile(folder, bodyTemplate);
    return 'text' in file ? made(file.text) : faulty(file.fault);
  }
}

const noFolder = { fault: 'no gateway.templates_path is set' };

const faulty = (fault: string): BodyTemplate => ({ needsRequest: false, fault });

function made(text: string): BodyTemplate {
  const compiled = compileTemplate(text);
  if ('parsed' in compiled) return { needsRequest: namesRequest(text), template: compiled };
  return faulty(`line ${compiled.line}, column ${compiled.column}: ${compiled.message}`);
}
