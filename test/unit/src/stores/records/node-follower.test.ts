/** Following a node's book from its very first moment: before it has tables, and once it has. */

import { join } from 'node:path';
import { expect } from 'chai';
import { addEpoch, openNodeDatabase } from '../../../../../src/stores/records/embedded/node-database.ts';
import { NodeFollower } from '../../../../../src/stores/records/embedded/node-follower.ts';
import { openDatabase } from '../../../../../src/stores/sqlite.ts';
import { temporaryFolder } from '../../../../support/temporary.ts';

describe('NodeFollower', () => {
  it('finds nothing in a book that has no tables yet, and everything once it has', () => {
    using folder = temporaryFolder('svc-follower-');
    openDatabase(join(folder.path, 'node.db')).close();
    using follower = new NodeFollower('node-1', folder.path);
    follower.refresh();
    expect(follower.epochs).to.deep.equal([]);
    using book = openNodeDatabase(folder.path);
    addEpoch(book, 1, 0);
    follower.refresh();
    expect(follower.epochs.map(({ number }) => number)).to.deep.equal([1]);
  });
});
