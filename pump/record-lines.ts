/** Records as lines of a file: JSON, or CSV by RFC 4180 with the flattened JSON names as header. */
import { type AnalyticsRecord, recordFields, toJson } from '../domain/analytics-record.ts';
import { nearestName } from '../domain/errors.ts';

export type LineFormat = {
  /** What a new file begins with. */
  readonly header: string;
  readonly line: (record: AnalyticsRecord) => string;
};

export const jsonLines: LineFormat = { header: '', line: (record) => `${JSON.stringify(toJson(record))}\n` };

/** `columns` selects and orders; none means all. Throws for an unknown name. */
export function csvLines(columns: readonly string[]): LineFormat {
  const known = recordFields.map(([name]) => name);
  for (const column of columns) {
    if (known.includes(column)) continue;
    const nearest = nearestName(column, known);
    throw new Error(`meta.columns: there is no field "${column}"${nearest ? `; did you mean "${nearest}"?` : ''}`);
  }
  const names = columns.length > 0 ? columns : known;
  const paths = names.map((name) => name.split('.'));
  return {
    header: toRow(names),
    line(record) {
      const json = toJson(record);
      return toRow(paths.map((path) => cellOf(json, path)));
    },
  };
}

const toRow = (cells: readonly string[]): string => `${cells.map(quoted).join(',')}\r\n`;

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

function cellOf(json: unknown, path: readonly string[]): string {
  let value = json;
  for (const name of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.join(';');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
