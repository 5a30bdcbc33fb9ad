/** Health of the management plane: whether it may take traffic, and how its parts are (management design 14). */
import type { Position } from '../../domain/event-store.ts';
import type { Services } from './route.ts';

type HealthStatus = 'pass' | 'warn' | 'fail';

type Part = {
  readonly status: HealthStatus;
  readonly componentType: string;
  readonly time: string;
  readonly output: string;
};

export type Health = {
  readonly status: HealthStatus;
  readonly revision: Position;
  readonly details: Readonly<Record<string, Part>>;
};

type Sources = Pick<Services, 'store' | 'models' | 'projector' | 'keyHealth' | 'now'>;

/** What the whole is when its parts are so. */
const worst = (statuses: readonly HealthStatus[]): HealthStatus =>
  statuses.includes('fail') ? 'fail' : statuses.includes('warn') ? 'warn' : 'pass';

export async function healthOf({ store, models, projector, keyHealth, now }: Sources): Promise<Health> {
  const time = now().toISOString();
  const part = (status: HealthStatus, componentType: string, output: string): Part => ({
    status,
    componentType,
    time,
    output,
  });
  const details: Record<string, Part> = {};
  try {
    const { writable, readable, detail } = await store.health();
    details['store'] = part(readable ? (writable ? 'pass' : 'warn') : 'fail', 'datastore', detail);
  } catch {
    details['store'] = part('fail', 'datastore', 'does not answer');
  }
  const keys = keyHealth();
  details['keyring'] = part(keys.status, 'datastore', keys.output);
  for (const { name, state, lag, reason, parked } of await statusOf(projector)) {
    const isWell = state === 'live' || state === 'standby' || state === 'rebuilding';
    const status = isWell && parked.length === 0 ? 'pass' : 'warn';
    const output = [
      state,
      ...(lag === undefined ? [] : [`${lag} events behind`]),
      ...(parked.length === 0 ? [] : [`${parked.length} events parked`]),
      ...(reason === undefined ? [] : [reason]),
    ].join(', ');
    details[`projections:${name}`] = part(status, 'component', output);
  }
  const revision = models.checkpoint('apis')?.position ?? '';
  return { status: worst(Object.values(details).map(({ status }) => status)), revision, details };
}

/** While the log is away nobody can say how far behind the read models are. */
async function statusOf(projector: Sources['projector']) {
  try {
    return await projector.status();
  } catch {
    return [];
  }
}

/** Ready: the store answers, and every read model follows it that is needed to serve and to configure gateways. */
export async function readiness(
  sources: Pick<Sources, 'store' | 'projector'>,
): Promise<{ readonly isReady: boolean; readonly reason: string }> {
  if (!(await isReadable(sources.store))) return { isReady: false, reason: 'the event store does not answer' };
  const behind = (await statusOf(sources.projector)).filter(({ state, isLate }) => state === 'catching-up' && !isLate);
  if (behind.length > 0) {
    return { isReady: false, reason: `catching up: ${behind.map(({ name }) => name).join(', ')}` };
  }
  return { isReady: true, reason: '' };
}

const isReadable = async (store: Sources['store']): Promise<boolean> => {
  try {
    return (await store.health()).readable;
  } catch {
    return false;
  }
};
