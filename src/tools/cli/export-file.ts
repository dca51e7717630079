/** The file, or standard output, that a command exports to. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { Failure } from './failure.ts'

interface Output {
  readonly stream: Writable
  finish(): Promise<void>
  /** Removes the written part. */
  discard(): void
}

function standardOutput(): Output {
  const { stdout: stream } = process
  // `write` reports errors.
  stream.on('error', () => {})
  return { stream, async finish() {}, discard() {} }
}

/** A file that appears when it is complete, and that only its owner can read. */
function fileOutput(file: string, overwrite: boolean): Output {
  if (existsSync(file) && !overwrite) throw new Failure(`${file} already exists: --overwrite replaces it.`)
  // The name is unique and cannot be guessed: in a shared folder, a link of a predictable name could lead elsewhere.
  const partFile = `${file}.${randomBytes(6).toString('hex')}.part`
  const stream = createWriteStream(partFile, { flags: 'wx', mode: 0o600 })
  stream.on('error', () => {})
  const discard = () => {
    stream.destroy()
    rmSync(partFile, { force: true })
  }
  const onInterrupt = () => {
    discard()
    process.exit(1)
  }
  process.once('SIGINT', onInterrupt).once('SIGTERM', onInterrupt)
  return {
    stream,
    async finish() {
      await new Promise<void>(done => stream.end(done))
      renameSync(partFile, file)
    },
    discard,
  }
}

/** The reader of standard output has closed the pipe, as `head` does. */
class ReaderClosed extends Error {}

/** Resolves when the text is written, so that at most one page is buffered. */
function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, error => {
      if (!error) resolve()
      else if ('code' in error && error.code === 'EPIPE') reject(new ReaderClosed())
      else reject(new Failure(`Cannot write the export: ${error.message}.`))
    })
  })
}

export interface ExportFile {
  readonly stream: Writable
  /** Resolves when the text is written. */
  readonly write: (text: string) => Promise<void>
}

/**
 * Calls `use` with the file, or with standard output for `-`, and prints the sentence that it returns on standard error. A file
 * appears only when it is complete.
 */
export async function writeExport(
  file: string,
  overwrite: boolean,
  use: (output: ExportFile) => Promise<string>,
): Promise<string> {
  const output = file === '-' ? standardOutput() : fileOutput(file, overwrite)
  const { stream } = output
  try {
    const sentence = await use({ stream, write: text => write(stream, text) })
    await output.finish()
    console.error(sentence)
    return ''
  } catch (error) {
    output.discard()
    if (error instanceof ReaderClosed) return ''
    throw error
  }
}
