/** What a command says, on standard output. */
import { Failure } from './failure.ts'

function written(text: string): Promise<NodeJS.ErrnoException | null | undefined> {
  // Without a listener the event that comes beside the callback would end the process.
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {})
  return new Promise(resolve => process.stdout.write(text, resolve))
}

/** A `Failure` where it cannot be written; a reader that has seen enough, as `head` has, is none. */
export async function print(text: string): Promise<void> {
  if (text === '') return
  const error = await written(text)
  if (error && error.code !== 'EPIPE') {
    throw new Failure(`Standard output cannot be written: ${error.message}.`)
  }
}

/** What must not be lost: on standard error where standard output cannot be written. */
export async function printSurely(text: string): Promise<void> {
  if (await written(text)) console.error(text)
}
