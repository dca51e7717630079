/** The routes of the model that declare an input, in the OpenAPI document. */

import { isOptional, routeInputShape } from '../../../engine/logic/operations/input.ts'
import { staticRule } from '../../../engine/plan/guard/guard.ts'
import { pascalCase } from '../../../model/check/names.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Route } from '../../../model/model.ts'
import { inWords } from '../../../model/rule/rule-text.ts'
import { openapiBodySchema } from '../../../model/schemas.ts'
import { capitalized } from '../../../model/words.ts'
import { type Document, words } from './names.ts'
import { errors } from './responses.ts'
import { requirements, withoutCredential } from './security.ts'

export const routesTag = 'routes'

/** The routes that the document describes. */
export function describedRoutes({ model }: Pick<Document, 'model'>): readonly Route[] {
  return [...model.logic.routes.values()].filter(({ input }) => input !== undefined)
}

export function routePaths(document: Document): [string, JsonSchema][] {
  const paths = new Map<string, JsonSchema>()
  for (const route of describedRoutes(document)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths.set(path, {
      ...paths.get(path),
      ...parametersOf(route),
      [route.method.toLowerCase()]: operationOf(document, route),
    })
  }
  return [...paths]
}

function parametersOf({ path }: Route): JsonSchema {
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } },
    description: `\`${name}\` of the path.`,
  }))
  return parameters.length === 0 ? {} : { parameters }
}

function operationOf(document: Document, route: Route): JsonSchema {
  const { name, description, access } = route
  const [first] = document.model.collections.values()
  const isOpen =
    first !== undefined && staticRule(document.model, first, access, withoutCredential) !== 'never'
  const shape = routeInputShape(route)
  const schema = document.schemas.refer(shape, `${pascalCase(name)}RouteInput`, () =>
    openapiBodySchema(shape, 'create', field => document.valueSchema(shape, field)),
  )
  return {
    operationId: document.operationId(`${name}_route`),
    summary: capitalized(words(name)),
    tags: [routesTag],
    description: [description, `Who may: ${inWords(access)}.`].filter(part => part).join(' '),
    security: requirements(isOpen),
    'x-required-scopes': [],
    requestBody: {
      required: !isOptional(shape),
      content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
    },
    responses: { '2XX': { description: 'What the route answers.' }, ...errors('Account') },
  }
}
