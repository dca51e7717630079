/** A set-up for a service: its database and the number of nodes. The same tests run on each. */

import type { Store } from '../../src/engine/store/store.ts'
import type { Declaration } from '../../src/model/declaration.ts'
import type { Model } from '../../src/model/model.ts'
import type { GivenSettings } from '../../src/server/config/config.ts'

export interface Setup {
  readonly name: string
  /** An empty database with its services. */
  open(): Promise<Deployment>
}

export interface Deployment {
  /** The database, as in `DATABASE_URL`. */
  readonly database: string
  /** The settings with which a service uses it. */
  readonly settings: GivenSettings
  /** The environment with which a command uses it. */
  readonly environment: Readonly<Record<string, string>>
  /** Creates the empty database, for services that a test starts itself. `openStore` and `serve` create it as well. */
  create(): Promise<void>
  /** Opens the database as another process would. */
  openStore(model: Model): Promise<Store>
  /** All stored data, as bytes of files or as rows. */
  dump(): Promise<string>
  serve(declaration: Declaration, settings: GivenSettings): Promise<ServiceUnderTest>
  /** Called once all services on it are closed. */
  close(): Promise<void>
}

export interface ServiceUnderTest {
  /** The address of all nodes: each request goes to the next one. */
  readonly url: string
  /** The URL of each node. */
  readonly urls: readonly string[]
  /** Stops every node and restarts it on the same port. */
  restart(): Promise<void>
  close(): Promise<void>
}
