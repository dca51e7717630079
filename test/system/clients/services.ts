/** Services whose documents the client generators read. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Declaration } from '../../../src/model/declaration.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import { type Client, openClient } from './client.ts'

const token = 'pk_0123456789abcdefghij'

export interface RunningService {
  /** The URL of its document. */
  readonly url: string
  readonly environment: { readonly SERVICE: string; readonly TOKEN: string }
}

async function start(name: string, model: Declaration, folder: string) {
  const service = await serve(model, {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, `${name}.db`),
    adminApiKey: token,
    rateLimit: 'off',
    logLevel: 'silent',
  })
  const SERVICE = service.url.replace('localhost', '127.0.0.1')
  const running: RunningService = {
    url: `${SERVICE}/api/v1/openapi.json`,
    environment: { SERVICE, TOKEN: token },
  }
  return { name, service, running }
}

/** Runs `use` with a service of each model and a client project: `project` names its folder next to this file. */
export async function withClient<Name extends string>(
  models: Readonly<Record<Name, Declaration>>,
  { project, packages }: { readonly project: string; readonly packages?: string | undefined },
  use: (client: Client, services: Readonly<Record<Name, RunningService>>) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-openapi-'))
  const started = await Promise.all(
    Object.entries<Declaration>(models).map(([name, model]) => start(name, model, folder)),
  )
  const client = openClient(project, packages)
  try {
    const services = Object.fromEntries(started.map(({ name, running }) => [name, running]))
    await use(client, services as Readonly<Record<Name, RunningService>>)
  } finally {
    client.close()
    for (const { service } of started) await service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
