/** Waits for a condition instead of a time; fails with the last reason. */

/** Tries until the check neither throws nor answers false or undefined. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 8000): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs;
  let reason: unknown = new Error('the condition never held');
  for (;;) {
    try {
      const result = await check();
      if (result !== false && result !== undefined && result !== null) return result;
    } catch (error) {
      reason = error;
    }
    if (performance.now() > end) throw reason;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
