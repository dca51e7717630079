/** On a machine that is busy with other things, a request may wait too long for the one before it. */

/** Sends again for as long as the answer says that another request with the same key still runs. */
export async function insist<A>(send: () => Promise<A>, isRunning: (answer: A) => boolean): Promise<A> {
  for (;;) {
    const answer = await send()
    if (!isRunning(answer)) return answer
  }
}
