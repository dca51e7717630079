/** The settings that limit each GraphQL document. */
import type { Settings } from '../config.ts'

export function documentLimits(settings: Settings) {
  return {
    depth: settings['graphql.maxDepth'],
    cost: settings['graphql.maxCost'],
    aliases: settings['graphql.maxAliases'],
    tokens: settings['graphql.maxTokens'],
    listBound: settings['graphql.maxListSize'],
  }
}
