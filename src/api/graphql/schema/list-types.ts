/** The types that order lists, and that describe their pages. */
import { GraphQLBoolean, GraphQLEnumType, GraphQLObjectType, GraphQLString } from 'graphql'
import { rankKey } from '../../../engine/plan/rank.ts'
import type { Collection } from '../../../model/model.ts'
import { orderName, typeName } from './names.ts'
import { deprecationText, nonNull, visibleFields } from './parts.ts'

export function orderType(collection: Collection): GraphQLEnumType {
  const values = visibleFields(collection)
    .filter(field => field.type.sortable)
    .flatMap(({ name: field, deprecated }) =>
      [false, true].map(descending => {
        const deprecationReason = deprecationText(deprecated)
        return [orderName(field, descending), { value: { field, descending }, deprecationReason }] as const
      }),
    )
  const rank = {
    value: { field: rankKey, descending: true },
    description: 'Best matches of `search` first, newest first among equals. It must be the only sort key.',
  }
  return new GraphQLEnumType({
    name: `${typeName(collection)}OrderBy`,
    values: Object.fromEntries(
      collection.searchable.length > 0 ? [...values, ['RELEVANCE', rank] as const] : values,
    ),
  })
}

export function pageInfoType(name: string): GraphQLObjectType {
  return new GraphQLObjectType({
    name,
    fields: {
      hasNextPage: { type: nonNull(GraphQLBoolean) },
      hasPreviousPage: { type: nonNull(GraphQLBoolean) },
      startCursor: { type: GraphQLString },
      endCursor: { type: GraphQLString },
    },
  })
}
