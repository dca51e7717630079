/** The `.env` file of the working folder: variables that the environment does not set. */
import { statSync } from 'node:fs'

export const envFile = '.env'

/** The environment as the process got it. */
export const givenEnvironment: Readonly<NodeJS.ProcessEnv> = { ...process.env }

/** Once, before anything reads the environment. Throws where the file cannot be read. */
export function loadEnvFile(): void {
  // A folder of this name is a virtual environment of Python.
  if (statSync(envFile, { throwIfNoEntry: false })?.isFile()) process.loadEnvFile(envFile)
}
