/** The directives of every schema, in addition to those that GraphQL specifies. */
import { DirectiveLocation, GraphQLDirective } from 'graphql'

export const atomicDirective = new GraphQLDirective({
  name: 'atomic',
  description:
    'All fields of the mutation run in order in one transaction. The first error rolls it back: `data` is null.',
  locations: [DirectiveLocation.MUTATION],
})
