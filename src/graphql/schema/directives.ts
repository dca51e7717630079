/** The directives of every schema, beside those that GraphQL specifies. */
import { DirectiveLocation, GraphQLDirective } from 'graphql'

export const atomicDirective = new GraphQLDirective({
  name: 'atomic',
  description:
    'All fields of the mutation are one transaction, in their order. The first fault undoes all of it: `data` is null.',
  locations: [DirectiveLocation.MUTATION],
})
