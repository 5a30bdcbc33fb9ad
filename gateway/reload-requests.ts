/** What the control listener is asked to reload: this node, or through management every gateway of its group. */
import { padPosition } from '../domain/event-store.ts';
import type { Compiled } from './compile.ts';
import type { GroupReload } from './feed/feed.ts';
import type { Reloads } from './reload.ts';
import { type ReloadAnswer, reloadAnswer, requestTaken } from './standing.ts';

export type ReloadRequestsOptions = {
  readonly reloads: Pick<Reloads, 'look' | 'idle'>;
  readonly compiled: () => Compiled | undefined;
  readonly reached: (position: string, signal: AbortSignal) => Promise<void>;
  readonly group: string;
  /** Asks management. */
  readonly askGroup: (() => Promise<GroupReload>) | undefined;
};

const waitMs = 30_000;

/** `wait`: `true`, a revision, or nothing. */
export function createReloadRequests({ reloads, compiled, reached, group, askGroup }: ReloadRequestsOptions) {
  const reachedRevision = (revision: string): Promise<void> =>
    reached(padPosition(revision), AbortSignal.timeout(waitMs));
  return {
    async reload(wait: string | undefined): Promise<ReloadAnswer> {
      const isAwaited = wait === 'true' || (wait !== undefined && /^\d+$/.test(wait));
      const reloading = reloads.look();
      if (!isAwaited) return requestTaken(compiled());
      const { faults } = await reloading;
      if (wait !== 'true') await reachedRevision(wait);
      return reloadAnswer(compiled(), faults);
    },

    /** This node gets the request over its feed, as all others do. */
    async reloadGroup(wait: string | undefined): Promise<ReloadAnswer & { readonly request: object }> {
      if (!askGroup) throw new Error('this gateway has no management plane to ask');
      const asked = await askGroup();
      const request = { ...asked, group };
      if (wait !== 'true') return { ...requestTaken(compiled()), request };
      await reachedRevision(asked.revision);
      const { faults } = await reloads.idle;
      return { ...reloadAnswer(compiled(), faults), request };
    },
  };
}
