/** A service of one node in this process, or of three processes behind one address. */
import { resolve } from 'node:path'
import type { Declaration } from '../../src/model/declaration.ts'
import type { GivenSettings } from '../../src/server/config/config.ts'
import { serve } from '../../src/server/serve/serve.ts'
import type { Service } from '../../src/server/serve/service.ts'
import blog from '../models/blog.ts'
import drafts from '../models/drafts.ts'
import embargo from '../models/embargo.ts'
import notes from '../models/notes.ts'
import rich from '../models/rich.ts'
import tasks from '../models/tasks.ts'
import { blogModel, startCluster } from '../system/nodes/cluster.ts'
import type { ServiceUnderTest } from './setup.ts'

const nodeCount = 3

/** Processes get the model as a file. */
const files = new Map<Declaration, string>([
  [blog, blogModel],
  [drafts, resolve(import.meta.dirname, '../models/drafts.ts')],
  [embargo, resolve(import.meta.dirname, '../models/embargo.ts')],
  [notes, resolve(import.meta.dirname, '../models/notes.ts')],
  [rich, resolve(import.meta.dirname, '../models/rich.ts')],
  [tasks, resolve(import.meta.dirname, '../models/tasks.ts')],
])

export async function serveInProcess(
  declaration: Declaration,
  settings: GivenSettings,
): Promise<ServiceUnderTest> {
  const allSettings = { host: '127.0.0.1', logLevel: 'silent', ...settings } as const
  let service: Service = await serve(declaration, { port: 0, ...allSettings })
  const { url } = service
  return {
    url,
    urls: [url],
    async restart() {
      await service.close()
      service = await serve(declaration, { ...allSettings, port: Number(new URL(url).port) })
      // A client's kept connections may have been closed.
      await fetch(`${url}/healthz`).catch(() => undefined)
    },
    close: () => service.close(),
  }
}

export async function serveNodes(
  declaration: Declaration,
  settings: GivenSettings,
): Promise<ServiceUnderTest> {
  const model = files.get(declaration)
  if (model === undefined) throw new Error('the model is not in a file that a process can load')
  const cluster = await startCluster({ model, nodes: nodeCount, settings })
  return {
    url: cluster.url,
    urls: cluster.nodes.map(({ url }) => url),
    async restart() {
      await Promise.all(cluster.nodes.map(node => node.stop()))
      await Promise.all(cluster.nodes.map(node => node.start()))
    },
    close: () => cluster.close(),
  }
}
