/** Templates of webhooks, compiled once for all events of all handlers that have the same; files are read when a configuration or a reload comes. */
import type { JsonObject } from '../../domain/event.ts';
import { compileTemplate, type Rendered, type Template } from '../../domain/template/template.ts';
import { isTemplateText, namesRequest } from '../../domain/webhook-template.ts';
import { templatePort } from '../template-port.ts';
import { readTemplateFile } from './template-file.ts';

export type BodyTemplate = {
  /** Whether the request itself is among its data. */
  readonly needsRequest: boolean;
  /** Why it is none. */
  readonly fault?: string;
  readonly render: (envelope: JsonObject, escaping: 'none' | 'json') => Rendered;
};

export type BodyTemplatesOptions = {
  /** `gateway.templates_path`. */
  readonly folder?: string | undefined;
  /** Where nothing says that it is time: a file is read each time that it is asked for. */
  readonly readsAnew?: boolean;
};

/** A webhook has less than a body that somebody waits for: its template runs beside the requests. */
const limits = { maxOutput: 1_048_576, maxSteps: 200_000, maxMs: 200 };

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

const faulty = (fault: string): BodyTemplate => ({ needsRequest: false, fault, render: () => ({ failure: fault }) });

function made(text: string): BodyTemplate {
  const compiled = compileTemplate(text);
  if (!isTemplate(compiled)) return faulty(`line ${compiled.line}, column ${compiled.column}: ${compiled.message}`);
  return {
    needsRequest: namesRequest(text),
    render: (envelope, escaping) => compiled.render(envelope, { port: templatePort, escaping, limits }),
  };
}

const isTemplate = (compiled: ReturnType<typeof compileTemplate>): compiled is Template => 'render' in compiled;
