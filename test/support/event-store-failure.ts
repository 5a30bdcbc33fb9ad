/** The error of a promise that must be rejected, so that a test can look at it. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('rejected with something that is no error', { cause: error });
  }
  throw new Error('expected a failure');
}
