/** Whose text it is: one path for right, wrong and unknown; never an answer from before the last change. */
import { assert, expect } from 'chai';
import { padPosition } from '../../../../domain/event-store.ts';
import { bootstrapTokenId, toTokenId } from '../../../../domain/ids.ts';
import type { TokenEvent } from '../../../../domain/token.ts';
import type { ProjectionStatus } from '../../../../projections/runner/projection-status.ts';
import { tokensProjection } from '../../../../projections/tokens.ts';
import { Rejection } from '../../../../src/management/errors.ts';
import { rolesWith } from '../../../../src/management/roles.ts';
import { createTokenDirectory, type TokenDirectoryOptions } from '../../../../src/management/tokens/directory.ts';
import { isText, keptOf, newTokenId, newTokenText, tokenIdIn } from '../../../../src/management/tokens/text.ts';
import { folded, org } from '../../../support/given.ts';

const now = () => new Date('2026-03-01T00:00:00.000Z');
const bootstrapToken = newTokenText(bootstrapTokenId);
const id = toTokenId('k3v9q2');
const text = newTokenText(id);

const issued = (tokenId = id, of = text): TokenEvent => ({
  type: 'TokenIssued',
  ...{ orgId: org, tokenId, name: 'x', scopes: ['apis:write'], roles: ['gone'], expiresAt: null },
  ...keptOf(of),
});
const revoked = (tokenId = id): TokenEvent => ({ type: 'TokenRevoked', ...{ orgId: org, tokenId, reason: '' } });

const caughtUp: TokenDirectoryOptions['projector'] = {
  caughtUp: async () => undefined,
  waitFor: async () => true,
  status: async () => [],
};

function given(events: readonly TokenEvent[], projector: Partial<TokenDirectoryOptions['projector']> = {}) {
  const compared: boolean[] = [];
  const directory = createTokenDirectory({
    ...{ models: folded(tokensProjection, ...events), orgId: org, bootstrapToken, now },
    projector: { ...caughtUp, ...projector },
    roles: rolesWith(),
    compare: (...args) => {
      compared.push(isText(...args));
      return compared.at(-1) === true;
    },
  });
  return { directory, compared, idOf: async (of: string) => (await directory.find(of))?.actor.id };
}

const codeOf = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work();
    return 'ok';
  } catch (error) {
    assert(error instanceof Rejection, String(error));
    return error.code;
  }
};

describe('the directory of tokens', () => {
  for (const [name, of, events, isKnown] of [
    ['the right text', text, [issued()], true],
    ['a wrong text of a token that is there', newTokenText(id), [issued()], false],
    ['an id that is not there', newTokenText(newTokenId()), [issued()], false],
    ['a revoked token', text, [issued(), revoked()], false],
    ['a text of another form', 'x', [issued()], false],
    ['nothing at all', '', [], false],
    ['the text that stands for none', `svct_none_${'A'.repeat(43)}`, [], false],
  ] as const) {
    it(`compares once for ${name}`, async () => {
      const { idOf, compared } = given(events);
      expect(await idOf(of)).to.equal(isKnown ? id : undefined);
      expect(compared).to.deep.equal([isKnown]);
    });
  }

  it('gives scopes in full, and nothing for a role that is gone', async () => {
    const caller = await given([issued()]).directory.find(text);
    expect(caller).to.deep.include({ orgId: org, scopes: new Set(['apis:write', 'apis:read']) });
  });

  describe('lets the bootstrap token in', () => {
    const installed = issued(bootstrapTokenId, bootstrapToken);
    const foreign = newTokenText(bootstrapTokenId);
    for (const [name, of, events, isKnown] of [
      ['before the log has seen it', bootstrapToken, [], true],
      ['once it stands there', bootstrapToken, [installed], true],
      ['beside that of another process', bootstrapToken, [installed, issued(bootstrapTokenId, foreign)], true],
    ] as const) {
      it(name, async () => expect((await given(events).idOf(of)) === bootstrapTokenId).to.equal(isKnown));
    }

    for (const [name, of, events] of [
      ['revoked', bootstrapToken, [installed, revoked(bootstrapTokenId)]],
      [
        'revoked, beside a newer one',
        bootstrapToken,
        [installed, revoked(bootstrapTokenId), issued(bootstrapTokenId, foreign)],
      ],
      ['of another process', foreign, [installed, issued(bootstrapTokenId, foreign)]],
      ['wrong', foreign, [installed]],
    ] as const) {
      it(`but not one that is ${name}`, async () => expect(await given(events).idOf(of)).to.equal(undefined));
    }
  });

  it('waits for reads that show what was changed here, and refuses when they do not come', async () => {
    const asked: string[] = [];
    let isThere = false;
    const { directory, idOf } = given([issued()], {
      waitFor: async (names, position) => {
        asked.push(`${names.join()} ${position.at(-1)}`);
        return isThere;
      },
    });
    directory.changed(id, padPosition('7'));
    expect(await codeOf(() => idOf(text))).to.equal('revision_not_reached');
    isThere = true;
    expect(await idOf(text)).to.equal(id);
    expect(await idOf(text)).to.equal(id);
    expect(asked).to.deep.equal(['tokens 7', 'tokens 7']);
  });

  describe('before the read model has been at the head of the log', () => {
    const stalled = (state: ProjectionStatus['state']) => ({
      caughtUp: () => new Promise<void>(() => undefined),
      status: async () => [{ name: 'tokens', state } as ProjectionStatus],
    });

    it('knows nobody', async () => {
      const { idOf } = given([issued()], stalled('catching-up'));
      const codes = await Promise.all([text, bootstrapToken].map((of) => codeOf(() => idOf(of))));
      expect(codes).to.deep.equal(['revision_not_reached', 'revision_not_reached']);
    });

    it('goes on with what it knows when it has stopped at an event: somebody must mend it', async () => {
      expect(await given([issued()], stalled('stopped')).idOf(text)).to.equal(id);
    });
  });
});

describe('the text of a token', () => {
  it('names its id, and is never the same', () => {
    const [one, two] = [newTokenText(id), newTokenText(id)];
    expect(one)
      .to.match(/^svct_k3v9q2_[\w-]{43}$/)
      .and.not.equal(two);
    expect(tokenIdIn(one)).to.equal(id);
    for (const other of ['', 'svct_k3v9q2_', `${one}x`, one.slice(1), ` ${one}`, `svct_K_${'a'.repeat(43)}`]) {
      expect(tokenIdIn(other), other).to.equal(undefined);
    }
  });

  it('is kept under a salt of its own, with four characters for people', () => {
    const [one, two] = [keptOf(text), keptOf(text)];
    expect(one.hash).to.not.equal(two.hash);
    expect(one.prefix).to.equal(text.slice(0, 16));
    expect([isText(text, one), isText(text, two), isText(`${text} `, one)]).to.deep.equal([true, true, false]);
    expect(keptOf('a text that somebody made up himself').prefix).to.equal('');
    expect(isText(text, { hash: '', salt: '' })).to.equal(false);
  });
});
