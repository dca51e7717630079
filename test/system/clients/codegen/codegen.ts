import type { CodegenConfig } from '@graphql-codegen/cli'

const { GRAPHQL_URL = '', TOKEN = '' } = process.env

const config: CodegenConfig = {
  schema: [{ [GRAPHQL_URL]: { headers: { Authorization: `Bearer ${TOKEN}` } } }],
  documents: 'src/**/*.ts',
  generates: {
    'src/gql/': { preset: 'client', config: { scalars: { DateTime: 'string', JSON: 'unknown' } } },
    'schema.json': { plugins: ['introspection'] },
    'schema.graphql': { plugins: ['schema-ast'] },
  },
}

export default config
