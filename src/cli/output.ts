/** Writes to standard output. */
import { Failure } from './failure.ts'

function write(text: string): Promise<NodeJS.ErrnoException | null | undefined> {
  // The stream emits an error besides calling back: without a listener it would end the process.
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {})
  return new Promise(resolve => process.stdout.write(text, resolve))
}

/** Throws a `Failure` when the text cannot be written; a reader that stops early, such as `head`, is no failure. */
export async function print(text: string): Promise<void> {
  if (text === '') return
  const error = await write(text)
  if (error && error.code !== 'EPIPE') {
    throw new Failure(`Standard output cannot be written: ${error.message}.`)
  }
}

/** Prints to standard error if standard output cannot be written: for secrets that are shown once. */
export async function printSurely(text: string): Promise<void> {
  if (await write(text)) console.error(text)
}
