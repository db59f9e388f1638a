//! What minburn trained, in Burn: serve it, or go on training it.
//!
//!     cargo run --release --manifest-path tests/burn/Cargo.toml --bin serve -- runs/rust
//!
//! The struct has the fields of the Python class, by the same names; that is all that a record needs.

use std::path::Path;

use burn::lr_scheduler::{LrSchedulerRecord, cosine::CosineAnnealingLrSchedulerConfig};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};

const BATCH: usize = 32;
const MIDDLE: usize = 30; // the checkpoint to go on from
const END: usize = 60;

#[derive(Module, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Self {
        Self { hidden: LinearConfig::new(64, 32).init(device), output: LinearConfig::new(32, 10).init(device) }
    }

    fn forward(&self, images: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(images)))
    }
}

/// The lines `label,pixel,…` of batches.csv, as train.py wrote them.
fn read_batches(path: &Path, device: &Device) -> Vec<(Tensor<2>, Tensor<1, Int>)> {
    let text = std::fs::read_to_string(path).expect("run examples/rust/train.py first");
    let rows: Vec<Vec<f32>> =
        text.lines().map(|line| line.split(',').map(|number| number.parse().unwrap()).collect()).collect();
    rows.chunks(BATCH)
        .map(|rows| {
            let labels: Vec<i32> = rows.iter().map(|row| row[0] as i32).collect();
            let images: Vec<f32> = rows.iter().flat_map(|row| row[1..].to_vec()).collect();
            (
                Tensor::from_data(TensorData::new(images, [rows.len(), 64]), device),
                Tensor::from_data(TensorData::new(labels, [rows.len()]), device),
            )
        })
        .collect()
}

fn main() {
    let run = std::env::args().nth(1).expect("the folder that train.py was given");
    let (run, device) = (Path::new(&run), Device::flex());
    let file = |name: &str, step: usize| run.join(format!("checkpoint/{name}-{step}.bpk"));

    // Serve.
    let model = Mlp::new(&device).load_file(file("model", END));
    let (images, labels) = read_batches(&run.join("batches.csv"), &device).pop().unwrap();
    let classes = model.forward(images).argmax(1).flatten::<1>(0, 1);
    let right: i64 = classes.equal(labels).int().sum().into_scalar();
    println!("served: {right} of {BATCH} digits recognized");

    // Go on where Python was: model, optimizer, schedule, then the same batches.
    let device = device.autodiff();
    let mut model = Mlp::new(&device).load_file(file("model", MIDDLE));
    let mut optim = AdamConfig::new().init().load(file("optim", MIDDLE)).unwrap();
    let record = LrSchedulerRecord::load(file("scheduler", MIDDLE)).unwrap();
    let mut scheduler = CosineAnnealingLrSchedulerConfig::new(0.01, END).init().unwrap().load_record(record);
    let loss = CrossEntropyLossConfig::new().init(&device);
    for (images, targets) in read_batches(&run.join("batches.csv"), &device) {
        let grads = loss.forward(model.forward(images), targets).backward();
        let grads = GradientsParams::from_grads(grads, &model);
        model = optim.step(scheduler.step(), model, grads);
    }
    std::fs::create_dir_all(run.join("rust")).unwrap();
    model.save_file(run.join("rust/model")).unwrap();
    optim.save(run.join("rust/optim")).unwrap();
    scheduler.to_record().save(run.join("rust/scheduler")).unwrap();
    println!("trained from step {MIDDLE} to {END}: {}", run.join("rust/model.bpk").display());
}
