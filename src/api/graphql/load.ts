/**
 * Loads GraphQL, which is large, at its first use: in steps, so that other requests do not wait long, and with a warm-up,
 * so that the first document is not slow.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Run } from '../../engine/plan/run.ts'

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
    await nextTurn()
  }
  const { createEngine } = await import('./execute/create-engine.ts')
  await nextTurn()
  const { createGraphql } = await import('./graphql.ts')
  await nextTurn()
  const { warmUp } = await import('./warm-up.ts')
  await warmUp(run)
  return { createEngine, createGraphql }
}
