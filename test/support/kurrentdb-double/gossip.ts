/** Gossip/Read: the members of the cluster as the double tells them; alone it is its own leader. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import gossip from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_pb.js';
import type shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js';
import { uuidOf } from './messages.ts';

export type Member = { readonly port: number; readonly state: 'leader' | 'follower' | 'dead' };

export const readGossip =
  (members: () => readonly Member[], nowMs: () => number): handleUnaryCall<shared.Empty, gossip.ClusterInfo> =>
  (_call, answer) => {
    const info = new gossip.ClusterInfo();
    for (const member of members()) info.addMembers(memberInfo(member, nowMs()));
    answer(null, info);
  };

function memberInfo({ port, state }: Member, nowMs: number): gossip.MemberInfo {
  const endPoint = new gossip.EndPoint();
  endPoint.setAddress('127.0.0.1');
  endPoint.setPort(port);
  const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState;
  const info = new gossip.MemberInfo();
  info.setInstanceId(uuidOf(`00000000-0000-4000-8000-${port.toString(16).padStart(12, '0')}`, true));
  info.setTimeStamp(String(Math.trunc(nowMs)));
  info.setState(state === 'leader' ? LEADER : FOLLOWER);
  info.setIsAlive(state !== 'dead');
  info.setHttpEndPoint(endPoint);
  return info;
}
