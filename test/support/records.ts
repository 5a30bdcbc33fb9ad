/** Reads analytics records out of printed lines. */

export type PrintedRecord = Readonly<Record<string, unknown>> & {
  readonly api_id: string;
  readonly raw_path: string;
  readonly response_code: number;
  readonly ext: { readonly id: string; readonly config_rev: string; readonly seq: number };
};

/** The lines that are records; the `stdout` sink prints one JSON object per line. */
export const recordsIn = (lines: readonly string[]): PrintedRecord[] =>
  lines.flatMap((line) => {
    if (!line.startsWith('{')) return [];
    const value = JSON.parse(line) as PrintedRecord;
    return typeof value.api_id === 'string' ? [value] : [];
  });
