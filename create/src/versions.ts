/** The versions that a project begins with. The build writes them beside the compiled code. */
import { readFileSync } from 'node:fs'

export interface Versions {
  /** Of Portico and of this command. */
  readonly portico: string
  /** The oldest Node that Portico runs on: `24.15`. */
  readonly oldestNode: string
  readonly typescript: string
  readonly typesOfNode: string
  /** The packages of the pinned Node, one for each platform, and its version. */
  readonly node: Readonly<Record<string, string>>
}

export function readVersions(): Versions {
  return JSON.parse(readFileSync(new URL('./versions.json', import.meta.url), 'utf8')) as Versions
}
