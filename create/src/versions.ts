/** The versions that a new project uses. The build writes them next to the compiled code. */
import { readFileSync } from 'node:fs'

export interface Versions {
  /** The version of Portico and of this command. */
  readonly portico: string
  /** The oldest version of Node on which Portico runs: `24.15`. */
  readonly oldestNode: string
  readonly typescript: string
  readonly typesOfNode: string
  /** The packages of the pinned Node, one for each platform, with their version. */
  readonly node: Readonly<Record<string, string>>
}

export function readVersions(): Versions {
  return JSON.parse(readFileSync(new URL('./versions.json', import.meta.url), 'utf8')) as Versions
}
