/** What can go wrong with a template: a fault in its text, with its place, and a failure while it is rendered. */

/** Line and column count from 1, columns in UTF-16 units. */
export type TemplateFault = { readonly line: number; readonly column: number; readonly message: string };

/** Of one run. Its message names functions and kinds, never a value: values belong to callers. */
export class TemplateFailure extends Error {
  override readonly name = 'TemplateFailure';
}

/** While a text is read; becomes a fault when line and column are known. */
export class FaultAt extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

export function faultIn(text: string, { offset, message }: FaultAt): TemplateFault {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - before.lastIndexOf('\n'), message };
}
