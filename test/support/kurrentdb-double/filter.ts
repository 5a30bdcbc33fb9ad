/** Filters of the server: by stream name or event type, with a regular expression or a list of prefixes. */
import type streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import type { LogRecord } from './log.ts';

type FilterOptions = streams.ReadReq.Options.FilterOptions;

export function filterOf(options: FilterOptions | undefined): (record: LogRecord) => boolean {
  if (!options) return () => true;
  const byStream = options.getStreamIdentifier();
  const matches = expressionOf(byStream ?? options.getEventType());
  return (record) => matches(byStream ? record.stream : record.type);
}

function expressionOf(
  expression: streams.ReadReq.Options.FilterOptions.Expression | undefined,
): (text: string) => boolean {
  const regex = expression?.getRegex();
  if (regex) {
    const compiled = new RegExp(regex, 'u');
    return (text) => compiled.test(text);
  }
  const prefixes = expression?.getPrefixList() ?? [];
  return (text) => prefixes.some((prefix) => text.startsWith(prefix));
}
