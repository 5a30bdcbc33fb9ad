/** Reloads of a node: one after the other, and those that wait are one. */
import { expect } from 'chai';
import { Reloads } from '../../../gateway/reload.ts';
import { listLog, systemClock } from '../../support/gateway-start.ts';

const nothing = { results: [], rejected: [] };

function reloadsWith(parts: Partial<ConstructorParameters<typeof Reloads>[0]> = {}): Reloads {
  return new Reloads({
    refresh: async () => {},
    renew: async () => {},
    compileAnew: () => nothing,
    self: { node: 'n', group: 'default' },
    followed: () => {},
    ...{ clock: systemClock, log: listLog(), everyMs: 1 },
    ...parts,
  });
}

describe('reloads', () => {
  it('take the settings, then the configuration, then compile', async () => {
    const order: string[] = [];
    const reloads = reloadsWith({
      refresh: async () => void order.push('refresh'),
      renew: async () => void order.push('renew'),
      compileAnew: () => {
        order.push('compile');
        return nothing;
      },
    });
    await reloads.look();
    expect(order).to.deep.equal(['renew', 'refresh', 'compile']);
  });

  it('run one at a time; all that are asked for meanwhile are one', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let begun = 0;
    const reloads = reloadsWith({ renew: () => gates[begun++]?.promise ?? Promise.resolve() });
    const first = reloads.look();
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    const others = [reloads.look(), reloads.look(), reloads.look()];
    expect(begun).to.equal(1);
    gates[0]?.resolve();
    await first;
    gates[1]?.resolve();
    await Promise.all(others);
    expect(begun).to.equal(2);
  });

  it('say what failed, go on with the rest, and fail nobody', async () => {
    const fail = (text: string) => async (): Promise<never> => {
      throw new Error(text);
    };
    const reloads = reloadsWith({
      refresh: fail('away'),
      renew: fail('no file'),
      compileAnew: () => {
        throw new Error('broken');
      },
    });
    expect(await reloads.look()).to.deep.equal({
      ...nothing,
      faults: [
        'the settings of the node could not be taken anew: no file',
        'the configuration could not be taken anew: away',
        'the APIs could not be taken anew: broken',
      ],
    });
  });

  it('end with the gateway: what still waits is not begun', async () => {
    let begun = 0;
    const reloads = reloadsWith({ renew: async () => void begun++, everyMs: 60_000 });
    await reloads.look();
    const waiting = reloads.look();
    await reloads.stop();
    expect((await waiting).faults).to.deep.equal(['the gateway stops']);
    expect(begun).to.equal(1);
  });
});
