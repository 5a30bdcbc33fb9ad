/** What of a record a sink gets: detail left out or trimmed, named fields emptied. */
import { type AnalyticsRecord, recordFields } from '../domain/analytics-record.ts';
import { nearestName } from '../domain/errors.ts';
import type { SinkConfig } from './sink-config.ts';

export type RecordMap = (record: AnalyticsRecord) => AnalyticsRecord;

type MapSettings = Pick<SinkConfig, 'ignoreFields' | 'omitDetailedRecording' | 'maxRecordSize'>;

/** Throws for an unknown field name. The order is that of the pipeline: detail, trim, then fields. */
export function createMap({ ignoreFields = [], omitDetailedRecording, maxRecordSize = 0 }: MapSettings): RecordMap {
  const steps: RecordMap[] = [];
  if (omitDetailedRecording) steps.push((record) => ({ ...record, raw_request: '', raw_response: '' }));
  else if (maxRecordSize > 0) steps.push(trimDetail(maxRecordSize));
  for (const name of ignoreFields) steps.push(emptyField(name));
  return (record) => steps.reduce((current, step) => step(current), record);
}

/** Base64 stays decodable when it is cut at a multiple of four. */
function trimDetail(maxBytes: number): RecordMap {
  const length = maxBytes - (maxBytes % 4);
  return (record) => ({
    ...record,
    raw_request: record.raw_request.slice(0, length),
    raw_response: record.raw_response.slice(0, length),
  });
}

const derivedNames: readonly string[] = ['day', 'month', 'year', 'hour'];
/** The identity of a record is what counting and deduplication stand on. */
const identityNames: readonly string[] = ['ext.id', 'ext.node', 'ext.epoch', 'ext.seq', 'timestamp'];

function emptyField(name: string): RecordMap {
  const field = recordFields.find(([known]) => known === name);
  if (!field) {
    const nearest = nearestName(
      name,
      recordFields.map(([known]) => known),
    );
    throw new Error(`ignore_fields: there is no field "${name}"${nearest ? `; did you mean "${nearest}"?` : ''}`);
  }
  if (identityNames.includes(name) || derivedNames.includes(name)) {
    throw new Error(`ignore_fields: "${name}" identifies the record and cannot be emptied`);
  }
  const zero = zeros[field[1]];
  const path = name.split('.');
  return (record) => withZero(record, path, zero) as AnalyticsRecord;
}

const zeros = { string: '', integer: 0, number: 0, boolean: false, timestamp: 0, strings: [], names: null } as const;

function withZero(value: object, [name, ...rest]: readonly string[], zero: unknown): object {
  if (name === undefined) return value;
  const inner: unknown = Reflect.get(value, name);
  if (rest.length === 0) return { ...value, [name]: zero };
  return typeof inner === 'object' && inner !== null ? { ...value, [name]: withZero(inner, rest, zero) } : value;
}
