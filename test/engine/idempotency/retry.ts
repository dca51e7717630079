import type { Answer } from '../../server/serve/service.ts'

/** Retries as long as another request with the same key runs, which takes time on a busy machine. */
export async function retryWhile<A>(send: () => Promise<A>, isRunning: (answer: A) => boolean): Promise<A> {
  for (;;) {
    const answer = await send()
    if (!isRunning(answer)) return answer
  }
}

/** Retries a REST request as long as another one with the same key runs. */
export const retryConflicts = (send: () => Promise<Answer>) =>
  retryWhile(send, ({ status }) => status === 409)
