/** The `.env` file of the working folder: variables that the environment does not set. */
import { statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { readTextFile, TextEncodingError } from './text-file.ts'

export const envFile = '.env'

/** The environment without the variables of the file. */
export const processEnvironment: Readonly<NodeJS.ProcessEnv> = { ...process.env }

export class EnvFileError extends Error {
  override readonly name = 'EnvFileError'
}

/** Called once, before anything reads the environment. Throws an `EnvFileError` if the file cannot be read. */
export function loadEnvFile(): void {
  // A folder of this name is a Python virtual environment.
  if (!statSync(envFile, { throwIfNoEntry: false })?.isFile()) return
  try {
    for (const [name, value] of Object.entries(parseEnv(readTextFile(envFile)))) process.env[name] ??= value
  } catch (error) {
    throw new EnvFileError(
      `${envFile} ${error instanceof TextEncodingError ? error.message : `cannot be read: ${error instanceof Error ? error.message : error}`}.`,
    )
  }
}
