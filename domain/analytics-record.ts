/** The analytics record: one per proxied request, its field table, and the one function that gives its JSON form. */

export type Geo = {
  readonly country: { readonly iso_code: string };
  readonly city: { readonly geoname_id: number; readonly names: Readonly<Record<string, string>> | null };
  readonly location: { readonly latitude: number; readonly longitude: number; readonly time_zone: string };
};

/** Who made an answer that is not the upstream's: the code of the refusal and the part of the gateway. */
export type RecordError = { readonly flag: string; readonly source: string; readonly details: string };

/**
 * In memory and in frames: times are ms since 1970 (`timestamp` is the arrival of the request), durations ms unless named
 * otherwise, sizes bytes. The documented names keep their JSON spelling so that no mapping stands between them.
 */
export type AnalyticsRecord = {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly raw_path: string;
  readonly user_agent: string;
  readonly content_length: number;
  readonly response_code: number;
  readonly api_key: string;
  readonly api_version: string;
  readonly api_name: string;
  readonly api_id: string;
  readonly org_id: string;
  readonly oauth_id: string;
  readonly alias: string;
  readonly api_schema: string;
  readonly ip_address: string;
  readonly timestamp: number;
  readonly expireAt: number;
  readonly request_time: number;
  readonly raw_request: string;
  readonly raw_response: string;
  readonly geo: Geo;
  readonly network: {
    readonly open_connections: number;
    readonly closed_connections: number;
    readonly bytes_in: number;
    readonly bytes_out: number;
  };
  readonly latency: { readonly total: number; readonly upstream: number; readonly gateway: number };
  readonly tags: readonly string[];
  readonly track_path: boolean;
  readonly original_path: string;
  readonly listen_path: string;
  readonly ext: RecordExtension;
};

/** What is ours beside the documented fields (pump design 2.2). */
export type RecordExtension = {
  readonly node: string;
  readonly epoch: number;
  readonly seq: number;
  /** Position of the configuration that served the request, without leading zeros. */
  readonly config_rev: string;
  /** Stream revision of the API definition. */
  readonly api_rev: string;
  /** End of the answer, ms since 1970. */
  readonly end: number;
  readonly request_id: string;
  readonly client_host: string;
  readonly error?: RecordError;
  /** What became of the request at the cache of its API. */
  readonly cache?: 'hit' | 'miss' | 'bypass';
  readonly bytes: { readonly in: number; readonly out: number };
  /** How many records this one stands for, when the recorder sampled. */
  readonly weight?: number;
  /** Bytes of each direction that the detail leaves out. */
  readonly truncated?: { readonly request: number; readonly response: number };
};

export const noGeo: Geo = {
  country: { iso_code: '' },
  city: { geoname_id: 0, names: null },
  location: { latitude: 0, longitude: 0, time_zone: '' },
};

/** The record's key for requests without a credential. */
export const keylessApiKey = '00000000';

/** The version name of an API that has no versions. */
export const notVersioned = 'Non Versioned';

/** `<node>.<epoch>.<seq>`: unique for ever. */
export const recordId = (ext: Pick<RecordExtension, 'node' | 'epoch' | 'seq'>): string =>
  `${ext.node}.${ext.epoch}.${ext.seq}`;

/** The JSON form: every documented field is present, in the order of the document; ours stand in `ext`. */
export function toJson(record: AnalyticsRecord): Readonly<Record<string, unknown>> {
  const arrival = new Date(record.timestamp);
  const { ext } = record;
  return {
    method: record.method,
    host: record.host,
    path: record.path,
    raw_path: record.raw_path,
    content_length: record.content_length,
    user_agent: record.user_agent,
    day: arrival.getUTCDate(),
    month: arrival.getUTCMonth() + 1,
    year: arrival.getUTCFullYear(),
    hour: arrival.getUTCHours(),
    response_code: record.response_code,
    api_key: record.api_key,
    timestamp: arrival.toISOString(),
    api_version: record.api_version,
    api_name: record.api_name,
    api_id: record.api_id,
    org_id: record.org_id,
    oauth_id: record.oauth_id,
    request_time: record.request_time,
    raw_request: record.raw_request,
    raw_response: record.raw_response,
    ip_address: record.ip_address,
    geo: record.geo,
    network: record.network,
    latency: record.latency,
    tags: record.tags,
    alias: record.alias,
    track_path: record.track_path,
    expireAt: new Date(record.expireAt).toISOString(),
    api_schema: record.api_schema,
    original_path: record.original_path,
    listen_path: record.listen_path,
    ext: { id: recordId(ext), ...ext, end: new Date(ext.end).toISOString() },
  };
}

export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'strings' | 'names';

/** Flattened names and types in record order; CSV headers, SQL columns and the filter language derive from it. */
export const recordFields: readonly (readonly [name: string, type: FieldType])[] = [
  ['method', 'string'],
  ['host', 'string'],
  ['path', 'string'],
  ['raw_path', 'string'],
  ['content_length', 'integer'],
  ['user_agent', 'string'],
  ['day', 'integer'],
  ['month', 'integer'],
  ['year', 'integer'],
  ['hour', 'integer'],
  ['response_code', 'integer'],
  ['api_key', 'string'],
  ['timestamp', 'timestamp'],
  ['api_version', 'string'],
  ['api_name', 'string'],
  ['api_id', 'string'],
  ['org_id', 'string'],
  ['oauth_id', 'string'],
  ['request_time', 'integer'],
  ['raw_request', 'string'],
  ['raw_response', 'string'],
  ['ip_address', 'string'],
  ['geo.country.iso_code', 'string'],
  ['geo.city.geoname_id', 'integer'],
  ['geo.city.names', 'names'],
  ['geo.location.latitude', 'number'],
  ['geo.location.longitude', 'number'],
  ['geo.location.time_zone', 'string'],
  ['network.open_connections', 'integer'],
  ['network.closed_connections', 'integer'],
  ['network.bytes_in', 'integer'],
  ['network.bytes_out', 'integer'],
  ['latency.total', 'integer'],
  ['latency.upstream', 'integer'],
  ['latency.gateway', 'integer'],
  ['tags', 'strings'],
  ['alias', 'string'],
  ['track_path', 'boolean'],
  ['expireAt', 'timestamp'],
  ['api_schema', 'string'],
  ['original_path', 'string'],
  ['listen_path', 'string'],
  ['ext.id', 'string'],
  ['ext.node', 'string'],
  ['ext.epoch', 'integer'],
  ['ext.seq', 'integer'],
  ['ext.config_rev', 'string'],
  ['ext.api_rev', 'string'],
  ['ext.end', 'timestamp'],
  ['ext.request_id', 'string'],
  ['ext.client_host', 'string'],
];
