/** The types that order lists, and that describe their pages. */
import { GraphQLBoolean, GraphQLEnumType, GraphQLObjectType, GraphQLString } from 'graphql'
import type { Collection } from '../../model/model.ts'
import { rankKey } from '../../plan/rank.ts'
import { orderName, typeName } from './names.ts'
import { nonNull, reason, shownFields } from './parts.ts'

export function orderType(collection: Collection): GraphQLEnumType {
  const values = shownFields(collection)
    .filter(field => field.type.sortable)
    .flatMap(({ name: field, deprecated }) =>
      [false, true].map(descending => {
        const deprecationReason = reason(deprecated)
        return [orderName(field, descending), { value: { field, descending }, deprecationReason }] as const
      }),
    )
  const rank = {
    value: { field: rankKey, descending: true },
    description: 'With `search`, alone: the items that fit best first, the newest of equals before others.',
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
