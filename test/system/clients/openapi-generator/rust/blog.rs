//! A post, by nothing but the functions and types that openapi-generator has made.
use client::apis::configuration::Configuration;
use client::apis::{posts_api, Error};
use client::models::{PostCreate, PostUpdate};
use serde_json::json;
use std::env::var;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let configuration = Configuration {
        base_path: var("SERVICE").unwrap(),
        bearer_access_token: var("TOKEN").ok(),
        ..Configuration::default()
    };
    let one = PostCreate::new("One".to_string());
    let created = posts_api::create_post(&configuration, one, None, None, None).await.unwrap();
    let change = PostUpdate { body: Some(Some("changed".to_string())), ..PostUpdate::new() };
    let updated = posts_api::update_post(&configuration, created.id, change, None, None, None, None).await.unwrap();
    let read = posts_api::get_post(&configuration, created.id, None, None, None).await.unwrap();
    let sort = Some("-id");
    let listed = posts_api::list_posts(&configuration, None, Some(1), None, None, None, None, sort, None, None, None)
        .await
        .unwrap();
    posts_api::delete_post(&configuration, created.id, None, None).await.unwrap();
    let missing = match posts_api::get_post(&configuration, created.id, None, None, None).await {
        Err(Error::ResponseError(response)) => response.status.as_u16(),
        other => panic!("{other:?}"),
    };
    let titles: Vec<&String> = listed.data.iter().map(|post| &post.title).collect();
    print!(
        "{}",
        json!({
            "created": [created.title, created.body],
            "updated": updated.body,
            "read": [read.title, read.created_at == created.created_at],
            "listed": [titles, listed.meta.total],
            "missing": missing,
        })
    );
}
