/** The settings that limit each GraphQL document. */
import type { Settings } from './config.ts'

export function documentLimits(settings: Settings) {
  const { listSize: listBound, ...limits } = settings['graphql.limits']
  return { ...limits, listBound }
}
