/** Writes to standard output. */
import { Failure } from './failure.ts'

function write(text: string): Promise<NodeJS.ErrnoException | null | undefined> {
  // The stream also emits the error, which without a listener would end the process.
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {})
  return new Promise(resolve => process.stdout.write(text, resolve))
}

/** Throws a `Failure` if the text cannot be written. A reader that closes early, such as `head`, is not a failure. */
export async function print(text: string): Promise<void> {
  if (text === '') return
  const error = await write(text)
  if (error && error.code !== 'EPIPE') {
    throw new Failure(`Cannot write to standard output: ${error.message}.`)
  }
}

/** Prints a secret that is shown once: to standard error if standard output cannot be written. */
export async function printSecret(text: string): Promise<void> {
  if (await write(text)) console.error(text)
}
