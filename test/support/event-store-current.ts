/** Opens a log for the tests of the surrounding `describe` and disposes of it. */

type Disposable = { readonly dispose: () => Promise<void> };

/** `each`: every test has its own. `group`: all share one, for tables whose rows use streams of their own. */
export function usingLog<Log extends Disposable>(
  open: () => Promise<Log>,
  scope: 'each' | 'group' = 'each',
): () => Log {
  let log: Log | undefined;
  const start = async (): Promise<void> => {
    log = await open();
  };
  const end = async (): Promise<void> => {
    await log?.dispose();
    log = undefined;
  };
  if (scope === 'each') {
    beforeEach(start);
    afterEach(end);
  } else {
    before(start);
    after(end);
  }
  return () => {
    if (!log) throw new Error('the log is open during tests only');
    return log;
  };
}
