/** What requests wait for. */
import { expect } from 'chai';
import { settled } from '../../../../src/management/conditional.ts';

describe('a write', () => {
  /** Projections that can be read, and what is waited for. */
  async function waitedFor(isReadable: (name: string) => boolean): Promise<readonly string[]> {
    let waited: readonly string[] = [];
    await settled('0000000000000007', {
      readable: async (names) => names.every(isReadable),
      waitFor: async (names) => {
        waited = names;
        return true;
      },
    });
    return waited;
  }

  it('waits until every list shows it', async () => {
    expect(await waitedFor(() => true)).to.include.members(['apis', 'history', 'keys', 'tokens']);
  });

  it('does not wait for a history whose first fold goes on', async () => {
    const waited = await waitedFor((name) => name !== 'history');
    expect(waited).to.include.members(['apis', 'keys', 'tokens']).and.not.include('history');
  });
});
