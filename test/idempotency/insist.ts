/** On a busy machine, a request may wait too long for the one before it. */

/** Retries as long as another request with the same key runs. */
export async function insist<A>(send: () => Promise<A>, isRunning: (answer: A) => boolean): Promise<A> {
  for (;;) {
    const answer = await send()
    if (!isRunning(answer)) return answer
  }
}
