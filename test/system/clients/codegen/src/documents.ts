import { graphql } from './gql'

export const CreatePost = graphql(`
  mutation CreatePost($title: String!, $authorId: ID!) {
    createPost(title: $title, authorId: $authorId) {
      ...PostLine
    }
  }
`)

export const PostLine = graphql(`
  fragment PostLine on Post {
    id
    title
    body
    createdAt
    author {
      name
    }
  }
`)

export const Posts = graphql(`
  query Posts($filter: PostFilter, $orderBy: [PostOrderBy!], $after: String) {
    postsConnection(first: 2, after: $after, filter: $filter, orderBy: $orderBy) {
      totalCount
      edges {
        cursor
        node {
          ...PostLine
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`)
