/** Between the log's records and the messages of the first protocol: ids, positions, times, events. */
import shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import timestamps from 'google-protobuf/google/protobuf/timestamp_pb.js';
import type { LogRecord, ProposedEvent } from './log.ts';

/** The server counts in units of 100 ns. */
const ticksPerMs = 10_000n;

export const streamNameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

export function streamIdentifier(stream: string): shared.StreamIdentifier {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream).toString('base64'));
  return identifier;
}

export function idOf(uuid: shared.UUID | undefined): string {
  const structured = uuid?.getStructured();
  if (!structured) return uuid?.getString() ?? '';
  const halves = [structured.getMostSignificantBits(), structured.getLeastSignificantBits()];
  const hex = halves.map((half) => BigInt.asUintN(64, BigInt(half)).toString(16).padStart(16, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function uuidOf(id: string, isStructured: boolean): shared.UUID {
  const uuid = new shared.UUID();
  if (!isStructured) {
    uuid.setString(id);
    return uuid;
  }
  const hex = id.replaceAll('-', '');
  const structured = new shared.UUID.Structured();
  structured.setMostSignificantBits(BigInt.asIntN(64, BigInt(`0x${hex.slice(0, 16)}`)).toString());
  structured.setLeastSignificantBits(BigInt.asIntN(64, BigInt(`0x${hex.slice(16)}`)).toString());
  uuid.setStructured(structured);
  return uuid;
}

type Proposed = streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage;

export const proposedEvent = (message: Proposed): ProposedEvent => ({
  id: idOf(message.getId()),
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? 'application/octet-stream',
  data: message.getData_asU8(),
  customMetadata: message.getCustomMetadata_asU8(),
});

/** Any message of the protocol that names a place in the global order. */
type PositionMessage = { setCommitPosition(value: string): unknown; setPreparePosition(value: string): unknown };

export function at<T extends PositionMessage>(message: T, position: bigint): T {
  message.setCommitPosition(position.toString());
  message.setPreparePosition(position.toString());
  return message;
}

export function timestamp(ms: number): timestamps.Timestamp {
  const message = new timestamps.Timestamp();
  message.fromDate(new Date(ms));
  return message;
}

export function eventMessage(record: LogRecord, isStructuredId: boolean): streams.ReadResp {
  const recorded = at(new streams.ReadResp.ReadEvent.RecordedEvent(), record.position);
  recorded.setId(uuidOf(record.id, isStructuredId));
  recorded.setStreamIdentifier(streamIdentifier(record.stream));
  recorded.setStreamRevision(record.revision.toString());
  recorded.setData(record.data);
  recorded.setCustomMetadata(record.customMetadata);
  const metadata = recorded.getMetadataMap();
  metadata.set('type', record.type);
  metadata.set('content-type', record.contentType);
  metadata.set('created', (BigInt(Math.trunc(record.createdMs)) * ticksPerMs).toString());
  const event = new streams.ReadResp.ReadEvent();
  event.setEvent(recorded);
  event.setCommitPosition(record.position.toString());
  const response = new streams.ReadResp();
  response.setEvent(event);
  return response;
}
