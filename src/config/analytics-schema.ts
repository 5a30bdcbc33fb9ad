/** The shape of the section `analytics`. */
import {
  defaultRecording,
  detailParts,
  jsonPathPattern,
  mediaTypePattern,
  mostBodyBytes,
} from '../../domain/record-detail.ts';
import { count, duration, flag, group, size, text, texts } from './schema-shapes.ts';

const detail = group(
  'Requests and answers in records, as they were on the wire (`raw_request`, `raw_response`). `trafficLogs.detail` of an API says the same for that API; what it redacts comes on top.',
  {
    enabled: flag(false, 'Whether requests are recorded in detail where neither the API nor its organisation says it.'),
    max_body_bytes: {
      ...size('64KiB', 0, `Of each body; at most ${mostBodyBytes / 2 ** 20} MiB. The rest is cut off.`),
      maximum: mostBodyBytes,
    },
    redact_headers: texts(
      'Headers whose value is hidden, beside those that hold credentials by their name or by what the API says.',
    ),
    redact_json: {
      ...texts(
        'Places in JSON bodies that are hidden: `$.card.number`, `$.items[*].token`, `$..password`. A body that cannot be read whole is left out then.',
      ),
      items: { type: 'string', pattern: jsonPathPattern },
    },
    content_types: {
      ...texts('Media types whose bodies are kept, `*` for any text; the others are replaced by their length.'),
      items: { type: 'string', pattern: mediaTypePattern },
      default: defaultRecording.detail.contentTypes,
    },
    parts: {
      ...texts('What is kept beside the first lines.'),
      items: { type: 'string', enum: detailParts },
      default: detailParts,
    },
    sample: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'Share of the requests, of those that would be recorded in detail.',
    },
    on_error_only: flag(false, 'Whether only answers from 400 on are recorded in detail.'),
  },
);

export const analytics = group('Recording of requests.', {
  enabled: flag(true, 'Whether a record is made per request.'),
  detail,
  enforce_org_detail: flag(
    false,
    'Whether `detail` of an organisation counts where neither the API nor the key asks for records in detail.',
  ),
  enforce_org_retention: flag(
    false,
    'Whether `settings.retention` of an organisation counts in the place of what its APIs say.',
  ),
  url: text('Where records are kept: `embedded:FOLDER`.', 'embedded:$data/analytics'),
  frame: group('The unit in which records are written; the first limit that is reached closes it.', {
    records: count(500, 1, 500, 'Records.'),
    bytes: size('256KiB', 1024, 'Size.'),
    wait: duration('100ms', 'milliseconds', 'Longest wait of a record.'),
  }),
  buffer_bytes: size(
    '32MiB',
    65_536,
    'Memory for records that are not written yet; requests under way that are recorded in detail hold at most half as much.',
  ),
  max_bytes: size('8GiB', 1_048_576, 'Size of the record log per gateway; the oldest part is deleted beyond it.'),
  max_age: duration('7d', 'seconds', 'Age of the oldest records.'),
  fsync: {
    type: ['string', 'number'],
    pattern: '^(none|always|[0-9]+(\\.[0-9]+)?(ms|s|m|h|d))$',
    minimum: 1,
    default: '200ms',
    description:
      'What a loss of power may cost: `always` nothing, an interval as much, `none` leaves it to the system. A bare number means milliseconds.',
    'x-unit': 'milliseconds',
  },
});
