/**
 * Loads GraphQL, which is large, when it is first used: in steps, so that no other request waits long meanwhile, and
 * warmed up, so that the first document is not slow.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Run } from '../plan/run.ts'

const steps: readonly (() => Promise<unknown>)[] = [
  () => import('graphql/language'),
  () => import('graphql/type'),
  () => import('graphql/execution'),
  () => import('graphql/validation'),
  () => import('graphql'),
  () => import('ws'),
  () => import('graphql-ws'),
]

export async function loadModules(run: Run) {
  for (const step of steps) {
    await step()
    await turn()
  }
  const { createEngine } = await import('./execute/create-engine.ts')
  await turn()
  const { createGraphql } = await import('./graphql.ts')
  await turn()
  const { warmUp } = await import('./warm-up.ts')
  await warmUp(run)
  return { createEngine, createGraphql }
}
