/** What stops a start: every fault of the configuration at once, each naming its key, its place and what to do. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      problems.length === 1
        ? problems[0]
        : `The configuration has ${problems.length} faults:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}
