/** Several Portico processes on one database, behind a load balancer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { type Balancer, openBalancer } from './balancer.ts'
import { Node } from './node.ts'

export const blogModel = resolve(import.meta.dirname, '../../../examples/blog/model.ts')

export interface ClusterOptions {
  /** A file whose default export is a model; the blog by default. */
  readonly model?: string
  readonly nodes?: number
  readonly settings?: GivenSettings
  readonly environment?: Readonly<Record<string, string>>
}

export interface NodeCluster {
  readonly nodes: readonly Node[]
  /** The URL of the load balancer. */
  readonly url: string
  readonly balancer: Balancer
  /** The node at an index, modulo the number of nodes. */
  node(index: number): Node
  close(): Promise<void>
}

/**
 * Starts all nodes at once, so that any of them may create the tables and the first administrator. `settings` are written
 * to the config file that all nodes read.
 */
export async function startCluster({
  model = blogModel,
  nodes: count = 3,
  settings = {},
  environment = {},
}: ClusterOptions): Promise<NodeCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-nodes-'))
  const nodes = Array.from({ length: count }, () => new Node({ folder, model, environment }))
  const balancer = await openBalancer(() => nodes.flatMap(node => (node.isUp ? node.port : [])))
  writeFileSync(
    join(folder, 'portico.config.json'),
    JSON.stringify({ baseUrl: balancer.url, autoMigrate: true, ...settings }),
  )
  const close = async () => {
    for (const node of nodes) node.resume()
    await Promise.all(nodes.map(node => node.stop()))
    await balancer.close()
    rmSync(folder, { recursive: true, force: true })
  }
  const started = await Promise.allSettled(nodes.map(node => node.start()))
  const failed = started.find(result => result.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  const node = (index: number): Node => {
    const node = nodes[index % nodes.length]
    if (!node) throw new Error('there are no nodes')
    return node
  }
  return { nodes, url: balancer.url, balancer, node, close }
}
