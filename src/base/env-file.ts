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

/** Variables that others may have: `LOG` and `LOG_FILE` have nothing to do with each other. */
const ofSettings = /^(?:PORTICO|DATABASE|REDIS|BASE_URL|OTEL)/

/** Whether the environment gives the value of the variable by a file, or that of `…_FILE` by itself: it has precedence. */
function isSetOtherwise(name: string, environment: NodeJS.ProcessEnv): boolean {
  if (!ofSettings.test(name)) return false
  const others = [`${name}_FILE`, ...(name.endsWith('_FILE') ? [name.slice(0, -'_FILE'.length)] : [])]
  return others.some(other => environment[other])
}

/** Called once, before anything reads the environment. Throws an `EnvFileError` if the file cannot be read. */
export function loadEnvFile(): void {
  // A folder of this name is a Python virtual environment.
  if (!statSync(envFile, { throwIfNoEntry: false })?.isFile()) return
  const environment = { ...process.env }
  try {
    for (const [name, value] of Object.entries(parseEnv(readTextFile(envFile)))) {
      if (!isSetOtherwise(name, environment)) process.env[name] ??= value
    }
  } catch (error) {
    throw new EnvFileError(
      `${envFile} ${error instanceof TextEncodingError ? error.message : `cannot be read: ${error instanceof Error ? error.message : error}`}.`,
    )
  }
}
