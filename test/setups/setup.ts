/** Where a service runs: which database, how many nodes. The same tests run on each. */
import type { GivenSettings } from '../../src/config.ts'
import type { Declaration } from '../../src/model/declaration.ts'
import type { Model } from '../../src/model/model.ts'
import type { Store } from '../../src/store/store.ts'

export interface Setup {
  readonly name: string
  /** A place of its own, empty. */
  open(): Promise<Place>
}

export interface Place {
  /** As `DATABASE_URL` names it. */
  readonly database: string
  /** What a service needs to use it. */
  readonly settings: GivenSettings
  /** What a command needs to work on the same database. */
  readonly environment: Readonly<Record<string, string>>
  /** The database as another process sees it. */
  openStore(model: Model): Promise<Store>
  /** Everything that is stored, as bytes or rows hold it. */
  dump(): Promise<string>
  serve(declaration: Declaration, settings: GivenSettings): Promise<Served>
  /** Once everything that it has served is closed. */
  close(): Promise<void>
}

export interface Served {
  /** With several nodes each request goes to another. */
  readonly url: string
  /** Of each node. */
  readonly urls: readonly string[]
  /** Stops every node and starts it again, on the same port. */
  restart(): Promise<void>
  close(): Promise<void>
}
