/** Which records a sink gets: allow and block lists over API, organisation and status. */
import type { AnalyticsRecord } from '../domain/analytics-record.ts';
import type { SinkFilters } from './sink-config.ts';

export type RecordFilter = (record: AnalyticsRecord) => boolean;

/** A block list wins over the allow list of the same field. */
export function createFilter(filters: SinkFilters = {}): RecordFilter {
  const tests = [
    allowed(filters.apiIds, filters.skipApiIds, (record) => record.api_id),
    allowed(filters.orgIds, filters.skipOrgIds, (record) => record.org_id),
    allowed(filters.responseCodes, filters.skipResponseCodes, (record) => record.response_code),
  ];
  return (record) => tests.every((test) => test(record));
}

function allowed<T>(
  allow: readonly T[] = [],
  block: readonly T[] = [],
  fieldOf: (record: AnalyticsRecord) => T,
): RecordFilter {
  const allowSet = new Set(allow);
  const blockSet = new Set(block);
  return (record) => {
    const value = fieldOf(record);
    return !blockSet.has(value) && (allowSet.size === 0 || allowSet.has(value));
  };
}
