/** The addresses of a service that the terminal shows. */
import type { Model } from '../../model/model.ts'

export const servicePaths: readonly (readonly [name: string, path: string])[] = [
  ['REST', '/api/v1'],
  ['GraphQL', '/graphql'],
  ['Docs', '/docs'],
  ['Account', '/account'],
]

/** Returns a path that needs no credential. */
export function openPath({ collections }: Model): string {
  const readable = [...collections.values()].find(({ access }) => access.read.kind === 'anyone')
  return readable ? `/api/v1/${readable.name}` : '/api/v1/openapi.json'
}
