/** Writes posts and reads them page by page with the generated types only. */
import { GraphQLClient } from 'graphql-request'
import { CreatePost, PostLine, Posts } from './documents'
import { type FragmentType, useFragment } from './gql'
import type { PostOrderBy, PostsQueryVariables } from './gql/graphql'

const { GRAPHQL_URL = '', TOKEN = '' } = process.env
const client = new GraphQLClient(GRAPHQL_URL, { headers: { Authorization: `Bearer ${TOKEN}` } })

function line(masked: FragmentType<typeof PostLine>): string {
  const { title, body, createdAt, author } = useFragment(PostLine, masked)
  const day: string = createdAt.slice(0, 10)
  const text: string | null | undefined = body
  return [title, text ?? 'no body', author.name, /^\d{4}-\d\d-\d\d$/.test(day)].join(', ')
}

async function main(): Promise<void> {
  for (const title of ['one', 'two', 'three']) {
    await client.request(CreatePost, { title: `codegen ${title}`, authorId: '1' })
  }
  const orderBy: PostOrderBy = 'ID_DESC'
  const variables: PostsQueryVariables = { filter: { title: { contains: 'codegen' } }, orderBy }
  const pages: string[][] = []
  for (let after: string | null | undefined; ; ) {
    const { postsConnection } = await client.request(Posts, { ...variables, after })
    pages.push(postsConnection.edges.map(({ node }) => line(node)))
    if (!postsConnection.pageInfo.hasNextPage) break
    after = postsConnection.pageInfo.endCursor
  }
  console.log(JSON.stringify(pages))
}

void main()
